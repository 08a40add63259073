import { fileURLToPath, URL } from 'node:url'

import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vite'

import { sources } from '../../packaging.ts'

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

export default defineConfig({
  plugins: [vue()],
  // A separate application would install the package. This one uses the source code in this repository.
  resolve: { alias: sources },
  build: { outDir: path('../../../examples/tables/static'), emptyOutDir: true },
})
