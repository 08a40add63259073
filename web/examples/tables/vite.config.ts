import { fileURLToPath, URL } from 'node:url'

import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vite'

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

export default defineConfig({
  plugins: [vue()],
  // An application of its own installs the package; here it is taken from beside.
  resolve: { alias: { '@horae/vue': path('../../packages/vue/src/entry.ts') } },
  build: { outDir: path('../../../examples/tables/static'), emptyOutDir: true },
})
