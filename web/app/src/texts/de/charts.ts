import type { Texts } from '../en'

export const charts: Texts['charts'] = {
  describedBelow: (title) => `${title}; die Tabelle darunter enthält dieselben Werte`,
  showAsTable: 'Als Tabelle anzeigen',
  time: 'Zeit',
}
