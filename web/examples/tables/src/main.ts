import './page.css'

import { createHorae } from '@horae/vue'
import { createPinia } from 'pinia'
import { createApp } from 'vue'

import App from './App.vue'
import { BACKGROUND } from './server'

createApp(App)
  .use(createPinia())
  .use(createHorae({ baseUrl: BACKGROUND }))
  .mount('#app')
