import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  plugins: [vue()],
  build: {
    lib: { entry: 'src/entry.ts', formats: ['es'], fileName: 'horae-vue', cssFileName: 'style' },
    rolldownOptions: { external: ['vue', 'pinia'] },
    minify: false,
    sourcemap: true,
  },
  test: { name: '@horae/vue', environment: 'happy-dom', include: ['tests/**/*.test.ts'] },
})
