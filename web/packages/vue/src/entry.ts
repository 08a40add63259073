// What is built: the front door, and the looks that its types must not import.
import './components/progress-bar.css'

export * from './index'
