// Generates packages/client/src/api/schema.ts from the OpenAPI document of the API. `--check` only compares the two.
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

import openapiTypes, { astToString } from 'openapi-typescript'

const source = new URL('../../tests/api/openapi.json', import.meta.url)
const target = new URL('../packages/client/src/api/schema.ts', import.meta.url)
const HEAD = '// Generated from tests/api/openapi.json by `npm run api-types`. Do not edit.\n\n'

/** Return the document without the endpoints of the job types, which belong to the application that generated it. */
function withoutJobTypes(document) {
  const paths = Object.fromEntries(
    Object.entries(document.paths).filter(([path]) => !path.startsWith('/api/jobs/types/')),
  )
  const allSchemas = document.components.schemas
  const used = namesUsedBy(paths, allSchemas)
  const schemas = Object.fromEntries(Object.entries(allSchemas).filter(([name]) => used.has(name)))
  return { ...document, paths, components: { ...document.components, schemas } }
}

/** Return the names of all schemas that a part of the document refers to, directly or indirectly. */
function namesUsedBy(part, allSchemas, used = new Set()) {
  for (const [, name] of JSON.stringify(part).matchAll(/#\/components\/schemas\/([^"]+)/g)) {
    if (!used.has(name)) namesUsedBy(allSchemas[name], allSchemas, used.add(name))
  }
  return used
}

const document = withoutJobTypes(JSON.parse(await readFile(source, 'utf8')))
const text = HEAD + astToString(await openapiTypes(document))

if (process.argv.includes('--check')) {
  if ((await readFile(target, 'utf8')) !== text) {
    console.error(
      `${fileURLToPath(target)} differs from the API: run \`npm run api-types\` in web/`,
    )
    process.exitCode = 1
  }
} else {
  await writeFile(target, text)
}
