import type { Texts } from '../en'

export const layout: Texts['layout'] = {
  skip: 'Zum Inhalt springen',
  main: 'Hauptnavigation',
  home: 'Horae, jetzt',
  shortcuts: 'Tastenkürzel',
  viewer:
    'Nur Lesezugriff: Sie können nichts ändern; Parameter, Ergebnisse und Fehlertexte werden nicht gezeigt.',
  readOnly: 'Nur Lesezugriff: Sie sehen hier alles, können aber nichts ändern.',

  live: 'Live',
  liveTitle: 'Änderungen erscheinen sofort',
  connecting: 'Verbindung wird hergestellt …',
  dataFrom: (ago) => `Stand: ${ago}`,
  unavailable: 'Der Server antwortet nicht oder kann seine Datenbank nicht lesen',
  polling: 'Wird im gewählten Abstand aktualisiert',
  serverLost: (since) => `Der Server antwortet seit ${since} nicht.`,
  databaseLost: (since) => `Die Datenbank ist seit ${since} nicht erreichbar.`,
  noDatabase: 'Die Datenbank ist nicht erreichbar',
  dataAreOf: (time) => `Die angezeigten Daten sind von ${time}.`,
  goesOn: 'Diese Seite macht von selbst weiter.',

  refreshNow: 'Jetzt aktualisieren',
  refresh: 'Aktualisieren',
  manually: 'von Hand',
  every: (seconds) => `alle ${seconds} s`,
  display: 'Darstellung',
  theme: 'Farben',
  themes: { system: 'wie das System', light: 'hell', dark: 'dunkel' },
  language: 'Sprache',
  browserLanguage: 'wie der Browser',
  utc: 'Alle Zeiten in UTC anzeigen',
  localUser: 'Lokaler Benutzer',
  logOut: 'Abmelden',

  everythingPaused: 'Alles ist angehalten:',
  nothingStarts: 'Kein Job startet, und kein Zeitplan löst aus.',
  by: (user) => `von ${user}`,
  pauseEverything: 'Alles anhalten',
  pauseEverythingTitle: 'Alles anhalten?',
  pauseEverythingText:
    'Kein Job einer Warteschlange startet und kein Zeitplan löst aus, bis Sie alles fortsetzen. Laufende Jobs laufen weiter. Was einzeln angehalten ist, bleibt es danach.',
  everythingWasPaused: 'Alles ist angehalten.',
  resumeEverything: 'Alles fortsetzen',
  everythingResumed: 'Alles läuft wieder.',

  goToOverview: 'Sehen, was jetzt nicht stimmt',
}
