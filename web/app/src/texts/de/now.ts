import { countText, plural } from '@/format/number'
import type { Texts } from '../en'

export const now: Texts['now'] = {
  wrong: (wrong, notable) =>
    (wrong === 1 ? 'Eine Sache stimmt nicht' : `${countText(wrong)} Dinge stimmen nicht`) +
    (notable > 0 ? `, ${verdient(notable)}` : ''),
  notable: (count) => `Alles in Ordnung; ${verdient(count)}`,
  well: 'Alles in Ordnung',
  unknown: 'Zurzeit nicht bekannt',
  noNode: 'Alles in Ordnung, aber kein Knoten läuft',
  nothingFound:
    'Alle Knoten antworten, Jobs werden abgearbeitet, und kein Jobtyp schlägt häufig fehl.',
  problems: 'Probleme',
  levels: { problem: 'Fehler', warning: 'Hinweis' },
  since: 'seit',
  lasting: (duration) => `schon ${duration}`,
  about: {
    everything: () => 'Alles',
    queue: (name) => `Warteschlange ${name}`,
    schedule: (name) => `Zeitplan ${name}`,
    type: (name) => `Jobtyp ${name}`,
    node: (name) => `Knoten ${name}`,
    limit: (name) => `Limit ${name}`,
  },

  pause: 'Anhalten',
  resume: 'Fortsetzen',
  pauseTitle: (what) => `${what}: anhalten?`,
  pauseText: 'Davon startet nichts mehr, bis es fortgesetzt wird. Was läuft, läuft weiter.',
  paused: (what) => `${what}: angehalten.`,
  resumed: (what) => `${what}: fortgesetzt.`,

  busiestQueues: 'Warteschlangen',
  noQueues: 'Keine Warteschlange hat Arbeit.',
  queueLine: (waiting, later, running) =>
    plural(waiting, 'wartet', 'warten') +
    (later > 0 ? `, ${countText(later)} später fällig` : '') +
    `, ${plural(running, 'läuft', 'laufen')}`,
  longestWait: (duration) => `, längste Wartezeit ${duration}`,
  queuePaused: 'Angehalten',

  tiles: {
    waiting: 'Wartend',
    running: 'Laufend',
    finished: 'Fertig',
    failed: 'Fehlgeschlagen',
    startDelay: 'Startverzögerung (Median)',
    nodes: 'Knoten',
    slotsInUse: (used, all) => `${countText(used)} von ${countText(all)} Plätzen belegt`,
    inTheLastHour: 'in der letzten Stunde',
    p99: (duration) => `p99: ${duration}`,
    dead: (count) => `${countText(count)} tot`,
    allAlive: 'alle am Leben',
    heldBack: 'später fällig oder angehalten',
    nothingToStart: 'nichts zu starten',
    readyToStart: (count) => `${countText(count)} startbereit`,
    aboutWork: (duration) => `etwa ${duration} Arbeit`,
    heldBackToo: (work, count) => `${work}, ${countText(count)} später fällig oder angehalten`,
  },

  firstTitle: 'Noch keine Jobs',
  firstText:
    'Ein Job ist ein Lauf einer Funktion. Deklarieren Sie eine, starten Sie sie, und sie erscheint hier:',
  firstNode: 'Ein Knoten führt ihn aus. Starten Sie einen mit',
  firstSchedules: (cron, every) =>
    `Funktionen mit ${cron} oder ${every} werden von ihrem Zeitplan gestartet.`,

  dayTitle: 'Die letzten 24 Stunden',
  dayDescribed:
    'Beendete und wartende Jobs der letzten 24 Stunden; Liste und Tabelle darunter sagen dasselbe',
  dayFinished: 'Fertig',
  dayFailed: 'Fehlgeschlagen',
  dayDepth: 'Wartend',
  marks: 'Was geschah',
  noMarks: 'Kein Deployment, keine Pause, kein toter Knoten.',
  moreMarks: (count) => `${countText(count)} weitere`,
  perMinute: 'pro Minute',
  markKinds: {
    deployment: 'Deployment',
    pause: 'Angehalten',
    resume: 'Fortgesetzt',
    death: 'Knoten gestorben',
  },
}

function verdient(count: number): string {
  return count === 1
    ? 'eine Sache verdient einen Blick'
    : `${countText(count)} Dinge verdienen einen Blick`
}
