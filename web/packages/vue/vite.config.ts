import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

import vue from '@vitejs/plugin-vue'
import type { Plugin } from 'vite'
import { defineConfig } from 'vitest/config'

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

/** Writes the styles beside the scripts, which import none: Node.js cannot render a page with them. */
const styles: Plugin = {
  name: 'horae-styles',
  apply: 'build',
  generateBundle: async function () {
    const source = await readFile(path('src/components/progress-bar.css'), 'utf8')
    this.emitFile({ type: 'asset', fileName: 'style.css', source })
  },
}

export default defineConfig({
  plugins: [vue(), styles],
  build: {
    lib: { entry: { index: path('src/index.ts'), client: path('src/client.ts') }, formats: ['es'] },
    rolldownOptions: {
      external: ['vue', 'pinia'],
      // One file for each module, so that an application contains only those that it imports.
      output: {
        preserveModules: true,
        preserveModulesRoot: path('src'),
        entryFileNames: '[name].js',
      },
    },
    minify: false,
    sourcemap: true,
  },
  test: { name: '@horae/vue', environment: 'happy-dom', include: ['tests/**/*.test.ts'] },
})
