import './page.css'

import { createHorae } from '@horae/vue'
import { createPinia } from 'pinia'
import { createApp } from 'vue'

import App from './App.vue'

// `/background` is where app.py mounts Horae.
createApp(App)
  .use(createPinia())
  .use(createHorae({ baseUrl: '/background' }))
  .mount('#app')
