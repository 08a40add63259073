import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vite'

import { sources } from '../../packaging.ts'

/** Builds one file that contains Vue, for pages without Vue. */
export default defineConfig({
  plugins: [vue()],
  resolve: { alias: sources },
  define: { 'process.env.NODE_ENV': '"production"', __VUE_OPTIONS_API__: 'false' },
  build: {
    emptyOutDir: false,
    license: { fileName: 'horae-elements.licenses.md' },
    lib: { entry: 'src/elements.ts', formats: ['es'], fileName: 'horae-elements' },
    sourcemap: true,
  },
})
