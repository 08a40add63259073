import { defineConfig } from 'vitest/config'

import { library, sources, styles, tests } from '../../packaging.ts'

export default defineConfig(({ command }) => ({
  plugins: [styles],
  resolve: { alias: command === 'build' ? [] : sources },
  build: library(import.meta.url, ['index'], ['react', 'react/jsx-runtime', /^@horae\/client/]),
  test: { ...tests, name: '@horae/react' },
}))
