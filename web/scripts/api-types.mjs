// Makes packages/vue/src/api/schema.ts from the API's OpenAPI document; `--check` only compares the two.
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

import openapiTypes, { astToString } from 'openapi-typescript'

const source = new URL('../../tests/api/openapi.json', import.meta.url)
const target = new URL('../packages/vue/src/api/schema.ts', import.meta.url)
const HEAD = '// Made from tests/api/openapi.json by `npm run api-types`; not to be edited.\n\n'

/** The document without the job types of the application that it was made from. */
function withoutJobTypes(document) {
  const paths = Object.fromEntries(
    Object.entries(document.paths).filter(([path]) => !path.startsWith('/api/jobs/types/')),
  )
  const every = document.components.schemas
  const used = namesUsedBy(paths, every)
  const schemas = Object.fromEntries(Object.entries(every).filter(([name]) => used.has(name)))
  return { ...document, paths, components: { ...document.components, schemas } }
}

/** Every schema that a part of the document refers to, and what those refer to. */
function namesUsedBy(part, every, used = new Set()) {
  for (const [, name] of JSON.stringify(part).matchAll(/#\/components\/schemas\/([^"]+)/g)) {
    if (!used.has(name)) namesUsedBy(every[name], every, used.add(name))
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
