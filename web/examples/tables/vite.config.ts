import { fileURLToPath, URL } from 'node:url'

import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vite'

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

export default defineConfig({
  plugins: [vue()],
  // A separate application would install the package. This one uses the source code in this repository.
  resolve: { alias: { '@horae/vue': path('../../packages/vue/src/entry.ts') } },
  build: { outDir: path('../../../examples/tables/static'), emptyOutDir: true },
})
