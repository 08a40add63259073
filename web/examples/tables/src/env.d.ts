/// <reference types="vite/client" />

// For tools that do not understand Vue files.
declare module '*.vue' {
  import type { Component } from 'vue'

  const component: Component
  export default component
}
