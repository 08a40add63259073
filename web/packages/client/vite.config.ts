import { defineConfig } from 'vitest/config'

import { library, styles, tests } from '../../packaging.ts'

export default defineConfig({
  plugins: [styles],
  build: library(import.meta.url, ['index', 'hooks']),
  test: { ...tests, name: '@horae/client' },
})
