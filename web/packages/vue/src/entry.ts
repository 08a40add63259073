// The entry point of the build. The styles are imported here because the type declarations of index.ts must not import
// CSS.
import '@horae/client/style.css'

export * from './index'
