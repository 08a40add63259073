import type { Texts } from '../en'

export const keyboard: Texts['keyboard'] = {
  title: 'Tastenkürzel',
  goTo: (page) => `Zur Seite „${page}“`,
  show: 'Tastenkürzel anzeigen',
  utc: 'Alle Zeiten in UTC anzeigen oder wieder in Ihrer Zone',
}
