import { defineConfig } from 'vitest/config'

import { library, styles } from '../../packaging.ts'

export default defineConfig({
  plugins: [styles],
  build: library(import.meta.url, ['index', 'hooks']),
  test: { name: '@horae/client', environment: 'happy-dom', include: ['tests/**/*.test.ts'] },
})
