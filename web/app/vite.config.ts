import { fileURLToPath, URL } from 'node:url'

import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vitest/config'

import { sources, tests } from '../packaging.ts'
import { compressed } from './compressed.ts'

const LANGUAGE = /src\/texts\/(?!en\b)([a-z]{2})\b/
const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

export default defineConfig({
  plugins: [vue(), compressed()],
  // Relative, because the application can be mounted anywhere: the server adds a `<base>` with its address.
  base: './',
  resolve: {
    alias: [...sources, { find: /^@\//, replacement: path('./src/') }],
  },
  define: { __VUE_OPTIONS_API__: 'false' },
  build: {
    outDir: path('../../src/horae/api/static'),
    emptyOutDir: true,
    // All browsers that the page supports preload modules.
    modulePreload: { polyfill: false },
    // The licences of the bundled libraries, which the wheel must contain.
    license: { fileName: 'licenses.md' },
    // A `data:` URL in a style sheet would need an exception in the content security policy.
    assetsInlineLimit: 0,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            // Each language but English is a file of its own, which is loaded when it is needed.
            {
              debugName: 'texts of a language',
              name: (id) => `texts-${LANGUAGE.exec(id)?.[1] ?? ''}`,
              test: LANGUAGE,
              priority: 3,
            },
            {
              name: 'palette',
              test: /src\/palette\/(?!PaletteButton|CommandPalette)/,
              priority: 2,
            },
            { name: 'charts', test: /uplot|src\/charts\//, priority: 3 },
            { name: 'now', test: /views\/now\//, priority: 2 },
            { name: 'schedules', test: /src\/(views\/)?schedules\//, priority: 2 },
            { name: 'views', test: /src\/(views\/jobs?|jobs)\//, priority: 2 },
            { name: 'operations', test: /src\/views\//, priority: 1 },
            // What lists have in common, which the first page does not need.
            {
              name: 'tables',
              test: /vue\/src\/(components|composables)|src\/(failures\/|components\/(JsonView|ColumnChooser|SortHeader|FilterBar|StateBadge|TimeAgo|columns|sorting|media|draft|clipboard)|format\/(json|controls))/,
              priority: 2,
            },
            { name: 'base', test: /./ },
          ],
          includeDependenciesRecursively: false,
        },
      },
    },
  },
  server: {
    proxy: { '/api': process.env['HORAE_SERVER'] ?? 'http://127.0.0.1:8000' },
  },
  test: { ...tests, name: 'dashboard' },
})
