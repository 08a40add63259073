/** The path of each icon, in a 20 by 20 view box. */
export const ICONS = {
  overview: 'M3 11.5 10 4l7 7.5M5 9.5V16h10V9.5',
  jobs: 'M4 5h12M4 10h12M4 15h7',
  schedules: 'M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14M10 6v4l3 2',
  nodes: 'M4 4h12v5H4zM4 11h12v5H4zM7 6.5h.01M7 13.5h.01',
  errors: 'M10 3l7.5 13.5h-15zM10 8v4M10 14.3h.01',
  queues: 'M3 6h9M3 10h9M3 14h9M15 5v10l2.5-2.5M15 15l-2.5-2.5',
  types: 'M4 4h5v5H4zM11 4h5v5h-5zM4 11h5v5H4zM11 13.5h5M13.5 11v5',
  limits: 'M4 15a7 7 0 1 1 12 0M10 12l3.5-4',
  changes: 'M4 16l1-4 8-8 3 3-8 8zM11 6l3 3',
  refresh: 'M15.5 8A6 6 0 1 0 16 10.5M16 4v4h-4',
  search: 'M9 3.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M13 13l4 4',
  display: 'M3 6h8M15 6h2M3 14h2M9 14h8M13 4v4M7 12v4',
  help: 'M7.5 7.5a2.5 2.5 0 1 1 3.5 2.3c-.7.3-1 .8-1 1.7M10 14.5h.01',
} as const

export type IconName = keyof typeof ICONS
