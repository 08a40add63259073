import type { Texts } from '../en'

export const charts: Texts['charts'] = {
  movedByKey: (title) => `${title}; die Pfeiltasten bewegen sich in der Zeit`,
  showAsTable: 'Als Tabelle anzeigen',
  time: 'Zeit',
  why: 'Warum?',
  howFarBack: 'Wie weit zurück',
  ranges: { '1h': '1 h', '6h': '6 h', '24h': '24 h', '7d': '7 d', '30d': '30 d' },
  history: 'Verlauf',
  nothingRecorded:
    'In dieser Zeit wurde nichts aufgezeichnet. Knoten zeichnen alle zehn Sekunden auf, was geschieht, solange sie laufen.',
  titles: {
    waiting: 'Tiefe (wartende Jobs)',
    lateness: 'Verspätung (wie lange der älteste wartet, der beginnen darf)',
    throughput: 'Durchsatz (Jobs pro Minute)',
    slots: 'Plätze',
    wait: 'Wartezeit (von fällig bis gestartet)',
    run: 'Laufzeit (von gestartet bis beendet)',
  },
  series: {
    waiting: 'Wartend',
    oldest: 'Ältester wartet',
    finished: 'Fertig',
    failed: 'Fehlgeschlagen',
    cancelled: 'Abgebrochen',
    used: 'Belegt',
    slots: 'Plätze',
    median: 'Median',
    p95: 'p95',
  },
}
