import { countText, plural } from '@/format/number'
import type { Texts } from '../en'

export const common: Texts['common'] = {
  actions: 'Aktionen',
  back: 'Zurück',
  cancel: 'Abbrechen',
  change: 'Ändern',
  changed: 'geändert',
  close: 'Schließen',
  columns: 'Spalten',
  dismiss: 'Schließen',
  found: (count) => `${countText(count)} angezeigt`,
  filters: (active) => (active === 0 ? 'Filter' : `Filter (${countText(active)})`),
  loading: 'Wird geladen …',
  none: 'keiner',
  remove: (what) => `${what} entfernen`,
  reset: 'Zurücksetzen',
  since: 'Seit',
  tryAgain: 'Erneut versuchen',
  jobs: (count) => plural(count, 'Job'),

  noteForOthers: 'Notiz für andere Benutzer',

  copy: 'Kopieren',
  copyWhat: (what) => `${what} kopieren`,
  copied: 'Kopiert.',
  copyingBlocked:
    'Der Browser hat das Kopieren verhindert. Markieren Sie den Text und kopieren Sie ihn von Hand.',
  showAll: (characters) => `Alle ${countText(characters)} Zeichen anzeigen`,
  showLess: 'Weniger anzeigen',

  stale: 'Die angezeigten Daten sind möglicherweise veraltet.',
  notFound: (what) => `${what}: nicht gefunden`,
  notFoundReason: 'Das gibt es nicht, oder diese Version des Servers unterstützt es nicht.',
  accessDenied: (what) => `${what}: kein Zugriff`,
  accessDeniedReason:
    'Ihre Rolle erlaubt das nicht. Bitten Sie die Administration um eine andere Rolle.',
  noResponse: 'Der Server antwortet nicht',
}
