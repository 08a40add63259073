import { createRouter, createWebHistory, type RouteRecordRaw, type Router } from 'vue-router'

import { mountPath, server } from '@/api/server'
import { errorText, notify } from '@/notices/notices'

/** A job and a schedule know their own title; the others have it here. */
const routes: RouteRecordRaw[] = [
  {
    path: '/',
    name: 'overview',
    component: () => import('@/views/overview/OverviewPage.vue'),
    meta: { title: 'Overview' },
  },
  {
    path: '/jobs',
    name: 'jobs',
    component: () => import('@/views/jobs/JobsPage.vue'),
    meta: { title: 'Jobs' },
  },
  {
    path: '/jobs/:id(\\d{1,18})',
    name: 'job',
    component: () => import('@/views/job/JobPage.vue'),
    props: ({ params }) => ({ id: Number(params['id']) }),
  },
  {
    path: '/schedules',
    name: 'schedules',
    component: () => import('@/views/schedules/SchedulesPage.vue'),
    meta: { title: 'Schedules' },
  },
  {
    path: '/schedules/:id(\\d{1,18})',
    name: 'schedule',
    component: () => import('@/views/schedules/SchedulePage.vue'),
    props: ({ params }) => ({ id: Number(params['id']) }),
  },
  {
    path: '/nodes',
    name: 'nodes',
    component: () => import('@/views/operations/NodesPage.vue'),
    meta: { title: 'Nodes' },
  },
  {
    path: '/queues',
    name: 'queues',
    component: () => import('@/views/operations/QueuesPage.vue'),
    meta: { title: 'Queues' },
  },
  {
    path: '/deployments',
    name: 'deployments',
    component: () => import('@/views/operations/DeploymentsPage.vue'),
    meta: { title: 'Deployments' },
  },
  {
    path: '/changes',
    name: 'changes',
    component: () => import('@/views/operations/ChangesPage.vue'),
    meta: { title: 'Changes' },
  },
  {
    path: '/:rest(.*)*',
    name: 'nowhere',
    component: () => import('@/views/NowherePage.vue'),
    meta: { title: 'Page not found' },
  },
]

export function createPages(): Router {
  const router = createRouter({
    history: createWebHistory(mountPath()),
    routes,
    scrollBehavior: (to, from, saved) => saved ?? (to.path === from.path ? false : { top: 0 }),
  })
  router.afterEach(({ meta }) => {
    if (typeof meta['title'] === 'string') titlePage(meta['title'])
  })
  router.onError((_error, to, from) => {
    if (from.matched.length > 0) void openAnew(router.resolve(to).href)
  })
  return router
}

/** A view could not be fetched: the server is away, or it is a newer one with other files. */
async function openAnew(address: string): Promise<void> {
  try {
    await server.me()
    location.assign(address)
  } catch (error) {
    notify('failed', errorText(error))
  }
}

/** Fetch the views that nobody has opened yet, so that they open at once, and even while the server is away. */
export function fetchViews(): void {
  for (const { component } of routes) {
    if (typeof component === 'function') (component as () => Promise<unknown>)().catch(ignore)
  }
}

/** Whoever opens that view is told. */
function ignore(): void {
  return
}

/** Name the page in its tab. */
export function titlePage(title: string): void {
  document.title = `${title} · Horae`
}
