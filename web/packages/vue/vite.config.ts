import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vitest/config'

import { library, sources, styles, tests } from '../../packaging.ts'

export default defineConfig(({ command }) => ({
  plugins: [vue(), styles],
  resolve: { alias: command === 'build' ? [] : sources },
  build: library(import.meta.url, ['index'], ['vue', 'pinia', /^@horae\/client/]),
  test: { ...tests, name: '@horae/vue' },
}))
