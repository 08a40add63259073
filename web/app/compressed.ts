import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

import type { Plugin } from 'vite'

/** Below this, what is saved is less than what a second file costs. */
const LEAST_BYTES = 500

/** Lay each asset beside itself compressed, so that the server only has to pick the file that a browser accepts. */
export function compressed(): Plugin {
  return {
    name: 'horae-compressed',
    apply: 'build',
    writeBundle: async ({ dir }) => {
      const folder = join(dir ?? '.', 'assets')
      await Promise.all((await readdir(folder)).map((name) => compress(join(folder, name))))
    },
  }
}

async function compress(file: string): Promise<void> {
  const content = await readFile(file)
  if (content.length < LEAST_BYTES) return
  const quality = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
  }
  await writeFile(`${file}.br`, brotliCompressSync(content, { params: quality }))
  await writeFile(`${file}.gz`, gzipSync(content, { level: 9 }))
}
