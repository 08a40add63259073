import { watchEffect } from 'vue'
import { createRouter, createWebHistory, type RouteRecordRaw, type Router } from 'vue-router'

import { mountPath, server } from '@/api/server'
import { errorText, notify } from '@/notices/notices'
import { texts } from '@/texts/texts'

/** Pages whose name has no text set their own title, such as the name of a schedule. */
const routes: RouteRecordRaw[] = [
  {
    path: '/',
    name: 'now',
    component: () => import('@/views/now/NowPage.vue'),
  },
  {
    path: '/jobs',
    name: 'jobs',
    component: () => import('@/views/jobs/JobsPage.vue'),
  },
  {
    path: '/jobs/:id(\\d{1,18})',
    name: 'job',
    component: () => import('@/views/job/JobPage.vue'),
    props: ({ params }) => ({ id: Number(params['id']) }),
  },
  {
    path: '/groups/:id(\\d{1,18})',
    name: 'group',
    component: () => import('@/views/jobs/GroupPage.vue'),
    props: ({ params }) => ({ id: Number(params['id']) }),
  },
  {
    path: '/errors',
    name: 'errors',
    component: () => import('@/views/errors/ErrorsPage.vue'),
  },
  {
    path: '/schedules',
    name: 'schedules',
    component: () => import('@/views/schedules/SchedulesPage.vue'),
  },
  {
    path: '/schedules/new',
    name: 'new-schedule',
    component: () => import('@/views/schedules/ScheduleFormPage.vue'),
    props: ({ query }) => ({ id: null, copy: Number(query['copy']) || null }),
  },
  {
    path: '/schedules/:id(\\d{1,18})/edit',
    name: 'edit-schedule',
    component: () => import('@/views/schedules/ScheduleFormPage.vue'),
    props: ({ params }) => ({ id: Number(params['id']), copy: null }),
  },
  {
    path: '/schedules/:id(\\d{1,18})',
    name: 'schedule',
    component: () => import('@/views/schedules/SchedulePage.vue'),
    props: ({ params }) => ({ id: Number(params['id']) }),
  },
  {
    path: '/fleet',
    name: 'fleet',
    component: () => import('@/views/fleet/FleetPage.vue'),
  },
  { path: '/nodes', name: 'nodes', redirect: { name: 'fleet' } },
  { path: '/deployments', name: 'deployments', redirect: { name: 'fleet' } },
  {
    path: '/queues',
    name: 'queues',
    component: () => import('@/views/queues/QueuesPage.vue'),
  },
  {
    path: '/queues/:name',
    name: 'queue',
    component: () => import('@/views/queues/QueuePage.vue'),
    props: true,
  },
  {
    path: '/types',
    name: 'types',
    component: () => import('@/views/types/TypesPage.vue'),
  },
  {
    path: '/types/:name',
    name: 'type',
    component: () => import('@/views/types/TypePage.vue'),
    props: true,
  },
  {
    path: '/limits',
    name: 'limits',
    component: () => import('@/views/operations/LimitsPage.vue'),
  },
  {
    path: '/journal',
    name: 'journal',
    component: () => import('@/views/journal/JournalPage.vue'),
  },
  { path: '/changes', name: 'changes', redirect: ({ query }) => ({ name: 'journal', query }) },
  {
    path: '/:rest(.*)*',
    name: 'not-found',
    component: () => import('@/views/NotFoundPage.vue'),
  },
]

export function createDashboardRouter(): Router {
  const router = createRouter({
    history: createWebHistory(mountPath()),
    routes,
    scrollBehavior: (to, from, saved) => saved ?? (to.path === from.path ? false : { top: 0 }),
  })
  watchEffect(() => {
    const titles: Readonly<Record<string, string>> = texts.value.pages
    const title = titles[String(router.currentRoute.value.name)]
    if (title !== undefined) setPageTitle(title)
  })
  router.onError((_error, to, from) => {
    if (from.matched.length > 0) void reload(router.resolve(to).href)
  })
  return router
}

/**
 * Load the page again after a view could not be fetched: a newer version of the server has other files. If the server
 * does not answer, show the error.
 */
async function reload(address: string): Promise<void> {
  try {
    await server.me()
    location.assign(address)
  } catch (error) {
    notify('failed', errorText(error))
  }
}

/** Fetch a view that the reader is about to open: all of them would make the first visit too large. */
export function prefetchView(name: string): void {
  const component = routes.find((route) => route.name === name)?.component
  if (typeof component === 'function') (component as () => Promise<unknown>)().catch(ignore)
}

/** An error is reported when the view is opened. */
function ignore(): void {
  return
}

/** Set the title of the browser tab. */
export function setPageTitle(title: string): void {
  document.title = `${title} · Horae`
}
