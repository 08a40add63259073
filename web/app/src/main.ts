import '@/styles/tokens.css'
import '@/styles/base.css'
import '@/styles/components.css'
import '@/styles/names.css'

import { createHorae } from '@horae/vue'
import { createPinia } from 'pinia'
import { createApp } from 'vue'

import App from '@/App.vue'
import { client } from '@/api/server'
import { errorText, notify } from '@/notices/notices'
import { createDashboardRouter } from '@/router'
import { language } from '@/texts/locale'
import { applyLanguage } from '@/texts/texts'
import { applyTheme } from '@/theme/theme'

applyTheme()
void applyLanguage((error) => notify('failed', errorText(error))).then(() => {
  createApp(App)
    .use(createPinia())
    .use(createHorae({ client, locale: language }))
    .use(createDashboardRouter())
    .mount('#app')
})
