import prettier from 'eslint-config-prettier'
import reactHooks from 'eslint-plugin-react-hooks'
import vue from 'eslint-plugin-vue'
import globals from 'globals'
import { defineConfig } from 'eslint/config'
import typescript from 'typescript-eslint'

const shape = {
  // Files should have about 200 lines, and must have at most 400. Functions have at most 40.
  'max-lines': ['error', { max: 400 }],
  'max-lines-per-function': ['error', { max: 40, skipBlankLines: true, skipComments: true }],
  complexity: ['error', 10], // `?.` and `??` count as branches
  eqeqeq: 'error',
  'no-console': 'error',
}

export default defineConfig(
  { ignores: ['**/dist/', '**/node_modules/', 'packages/client/src/api/schema.ts'] },
  {
    files: ['**/*.{ts,tsx,vue}'],
    extends: [
      typescript.configs.strictTypeChecked,
      typescript.configs.stylisticTypeChecked,
      vue.configs['flat/recommended'],
      prettier,
    ],
    languageOptions: {
      globals: globals.browser,
      parserOptions: {
        parser: typescript.parser,
        projectService: true,
        extraFileExtensions: ['.vue'],
      },
    },
    rules: {
      ...shape,
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // The types of `emit` and `defineProps` use void.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      'vue/block-lang': ['error', { script: { lang: 'ts' } }],
      'vue/block-order': ['error', { order: ['script', 'template', 'style'] }],
      'vue/component-api-style': ['error', ['script-setup']],
      'vue/define-emits-declaration': 'error',
      'vue/define-props-declaration': 'error',
      'vue/no-static-inline-styles': 'error', // the content security policy forbids them
      'vue/no-v-html': 'error',
      'vue/require-default-prop': 'off', // optional properties are typed as such
      'vue/multi-word-component-names': 'off',
    },
  },
  { files: ['packages/react/**'], extends: [reactHooks.configs.flat.recommended] },
  {
    files: ['app/src/**/*.vue'],
    rules: {
      // Texts are in app/src/texts, so that every language has them.
      'vue/no-bare-strings-in-template': [
        'error',
        {
          // Names, code, lengths of time, and what is no word.
          allowlist: [
            'Horae',
            'UTC',
            'Ctrl K',
            'logging',
            '/horae\\.jobs\\.start.*/',
            '/HORAE_\\w+/',
            '/horae [a-z]+ .*/',
            '/@horae\\.[^]*/',
            '/\\d+[smh]?/',
            '/[^\\p{L}\\d]+/u',
          ],
        },
      ],
    },
  },
  {
    files: ['app/src/texts/**'],
    // Their bodies are the texts, so the return type is plain to see.
    rules: { '@typescript-eslint/explicit-module-boundary-types': 'off' },
  },
  {
    files: ['app/src/texts/**'],
    rules: { 'max-lines': 'off' }, // a list of sentences reads straight down
  },
  {
    files: ['**/tests/**'],
    rules: {
      'max-lines': ['error', { max: 600 }],
      'max-lines-per-function': 'off', // a describe() is one function
      '@typescript-eslint/no-non-null-assertion': 'off',
      'vue/one-component-per-file': 'off',
      'vue/require-prop-types': 'off',
    },
  },
)
