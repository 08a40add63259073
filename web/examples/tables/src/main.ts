import './page.css'

import { createHorae } from '@horae/vue'
import { createPinia } from 'pinia'
import { createApp } from 'vue'

import App from './App.vue'

// app.py mounts Horae at `/background`.
createApp(App)
  .use(createPinia())
  .use(createHorae({ baseUrl: '/background' }))
  .mount('#app')
