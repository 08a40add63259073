/// <reference types="vite/client" />

// For tools that read TypeScript without Vue.
declare module '*.vue' {
  import type { Component } from 'vue'

  const component: Component
  export default component
}
