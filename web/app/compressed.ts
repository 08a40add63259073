import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

import type { Plugin } from 'vite'

/** Smaller files are not compressed: the gain would be less than the cost of another file. */
const MIN_BYTES = 500

/** Write compressed copies of all assets, so that the server only has to choose the file that a browser accepts. */
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
  if (content.length < MIN_BYTES) return
  const quality = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
  }
  await writeFile(`${file}.br`, brotliCompressSync(content, { params: quality }))
  await writeFile(`${file}.gz`, gzipSync(content, { level: 9 }))
}
