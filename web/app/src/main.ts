import '@/styles/tokens.css'
import '@/styles/base.css'
import '@/styles/parts.css'
import '@/styles/names.css'

import { createHorae } from '@horae/vue'
import { createPinia } from 'pinia'
import { createApp } from 'vue'

import App from '@/App.vue'
import { client } from '@/api/server'
import { createPages, fetchViews } from '@/router'
import { followTheme } from '@/theme/theme'

/** Milliseconds that the first view has for itself. */
const UNHURRIED = 500

followTheme()
createApp(App).use(createPinia()).use(createHorae({ client })).use(createPages()).mount('#app')
addEventListener('load', () => setTimeout(fetchViews, UNHURRIED))
