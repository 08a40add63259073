// How the packages in packages/ are built, and how pages and tests of this repository use their source code.
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

import type { BuildOptions, Plugin } from 'vite'
import type { ProjectConfig } from 'vitest/node'

const path = (relative: string, base = import.meta.url): string =>
  fileURLToPath(new URL(relative, base))

const STYLE = path('packages/client/src/style.css')

/** The packages as source code, so that no page and no test needs a build. Applications elsewhere install them. */
export const sources: { find: RegExp; replacement: string }[] = [
  { find: /^@horae\/client\/style\.css/, replacement: STYLE },
  { find: /^@horae\/client\/hooks$/, replacement: path('packages/client/src/hooks.ts') },
  { find: /^@horae\/client$/, replacement: path('packages/client/src/index.ts') },
  { find: /^@horae\/react$/, replacement: path('packages/react/src/index.ts') },
  { find: /^@horae\/vue$/, replacement: path('packages/vue/src/entry.ts') },
]

/**
 * Build options of a package whose `config` is the URL of its vite.config.ts: one file for each module, so that a bundler
 * keeps only what an application imports.
 */
export function library(
  config: string,
  entries: readonly string[],
  external: readonly (string | RegExp)[] = [],
): BuildOptions {
  return {
    lib: {
      entry: Object.fromEntries(entries.map((name) => [name, path(`src/${name}.ts`, config)])),
      formats: ['es'],
    },
    rolldownOptions: {
      external: [...external],
      output: {
        preserveModules: true,
        preserveModulesRoot: path('src', config),
        entryFileNames: '[name].js',
      },
    },
    minify: false,
    sourcemap: true,
  }
}

/** Writes the styles beside the scripts, which import none: Node.js cannot render a page with them. */
export const styles: Plugin = {
  name: 'horae-styles',
  apply: 'build',
  generateBundle: async function () {
    const source = await readFile(STYLE, 'utf8')
    this.emitFile({ type: 'asset', fileName: 'style.css', source })
  },
}

/** How tests run: all files of a worker share its page and what they import, which took most of their time. */
export const tests: ProjectConfig = {
  environment: 'happy-dom',
  isolate: false,
  restoreMocks: true,
  unstubGlobals: true,
  include: ['tests/**/*.test.{ts,tsx}'],
}
