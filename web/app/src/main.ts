import '@/styles/tokens.css'
import '@/styles/base.css'
import '@/styles/parts.css'

import { createHorae } from '@horae/vue'
import { createPinia } from 'pinia'
import { createApp } from 'vue'

import App from '@/App.vue'
import { client } from '@/api/server'
import { createPages } from '@/router'
import { followTheme } from '@/theme/theme'

followTheme()
createApp(App).use(createPinia()).use(createHorae({ client })).use(createPages()).mount('#app')
