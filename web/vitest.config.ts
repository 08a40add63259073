import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    projects: ['packages/vue/vite.config.ts', 'app/vite.config.ts'],
  },
})
