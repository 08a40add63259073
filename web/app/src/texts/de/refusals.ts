import { plural } from '@/format/number'
import type { EnglishSentences, SentenceTexts, SentenceValues } from '../sentenceTexts'

/** What a request is refused for, and what Horae stores about the ends of jobs. */
export const refusals: Omit<SentenceTexts, keyof EnglishSentences> = {
  query_after_today: () => 'das liegt nach heute; schreiben Sie >=today für die Jobs von heute',
  query_at: (v) => `${v.has('term') ? `${v.text('term')}: ` : ''}${v.text('problem')}`,
  query_character: () => 'die Suche hat ein Zeichen, das kein Job enthalten kann, etwa NUL',
  query_duration: () => 'erwartet wird ein Bereich von Dauern wie >30s, <5m oder 30s..5m',
  query_empty: (v) =>
    `die Suche ist leer; schreiben Sie Bedingungen wie type:import* state:failed; Felder sind ${v.text('fields')}`,
  query_field_unknown: (v) =>
    `das Feld ${v.text('field')} gibt es nicht${meant(v)}; Felder sind ${v.text('fields')}; setzen Sie einen Text mit Doppelpunkt in Anführungszeichen`,
  query_group: () => 'erwartet wird die Nummer einer Gruppe wie group:12',
  query_job: () => 'erwartet wird die Nummer eines Jobs wie id:4711, oder id:4711,4712',
  query_longer_first: (v) =>
    `„${v.text('low')}“ ist länger als „${v.text('high')}“; schreiben Sie die kürzere Dauer zuerst`,
  query_minus: () => 'nach dem - wird eine Bedingung wie owner:alice erwartet',
  query_name_missing: () =>
    'ein Name fehlt; Namen werden durch ein Komma getrennt, ohne Leerzeichen',
  query_no_such_number: () =>
    'diese Anzahl Versuche gibt es nicht; schreiben Sie die kleinere Zahl zuerst',
  query_number: () => 'erwartet wird eine Anzahl Versuche wie attempts:3 oder attempts>=3',
  query_one_value: () =>
    'hier ist nur ein Wert möglich; setzen Sie ihn als Ganzes in Anführungszeichen',
  query_operator: (v) =>
    `${v.text('operator')} vergleicht ${v.text('fields')}; schreiben Sie ${v.text('instead')}`,
  query_parameter_secret: (v) =>
    `params.${v.text('name')}: nach geheimen Parametern kann nicht gesucht werden`,
  query_parameter_unknown: (v) =>
    `params.${v.text('name')}: kein Jobtyp, den dieses Programm deklariert, hat diesen Parameter in einem Pydantic-Modell oder als Argument${meant(v)}`,
  query_path: () =>
    'erwartet wird params.NAME, oder params.NAME.NAME für einen Wert innerhalb eines Parameters, ohne umgekehrte Schrägstriche',
  query_path_too_long: (v) => `der Pfad eines Parameters hat höchstens ${v.text('most')} Namen`,
  query_quotes: () =>
    'Anführungszeichen umschließen einen ganzen Wert wie in owner:"Ann Lee" und werden geschlossen; darin steht \\" für ein Anführungszeichen',
  query_range_empty: () => 'der Bereich hat weder Anfang noch Ende',
  query_range_reversed: (v) =>
    `„${v.text('low')}“ liegt nicht vor „${v.text('high')}“; schreiben Sie den früheren Wert zuerst`,
  query_star: () =>
    '* ist nur am Ende erlaubt; setzen Sie einen Wert, der es enthält, in Anführungszeichen',
  query_star_alone: () => 'vor dem * wird der Anfang eines Namens erwartet',
  query_state: (v) => `den Zustand gibt es nicht${meant(v)}; erlaubt sind ${v.text('states')}`,
  query_time: () =>
    'erwartet wird ein Tag wie 2026-11-22, today oder yesterday, oder ein Bereich von Tagen, Zeiten oder Altern: 2026-11-01..2026-11-22, >="2026-11-22 10:00", >2h (länger her als zwei Stunden), <2h',
  query_too_long: (v) =>
    `die Suche hat ${v.count('count')} Zeichen; erlaubt sind höchstens ${v.count('most')}`,
  query_too_many: (v) => `die Suche hat mehr als ${v.text('most')} Bedingungen`,
  query_value_missing: (v) =>
    `der Wert fehlt; schreiben Sie ihn ohne Leerzeichen nach ${v.text('operator')}`,
  refused_database_down: () => 'Die Datenbank antwortet nicht.',
  refused_database_refuses: () => 'Die Datenbank verweigert dies; siehe das Protokoll des Servers.',
  refused_database_unusable: () =>
    'Die Datenbank kann jetzt nicht verwendet werden; siehe das Protokoll des Servers.',
  refused_deployment_ended: (v) =>
    `Das Deployment „${v.text('deployment')}“ ist beendet; rollen Sie sein Modul neu aus.`,
  refused_duplicate: (v) =>
    `Der Job ${v.text('job')} vom Typ „${v.text('type')}“ gilt als derselbe und steht im Weg.`,
  refused_group_not_open: (v) =>
    `Zur Gruppe ${v.text('group')} kann nichts mehr hinzukommen: Sie ist beendet oder abgebrochen, oder ihr Job läuft nicht mehr.`,
  refused_internal: () => 'Interner Fehler; siehe das Protokoll des Servers.',
  refused_limit_missing: (v) => `Das Limit „${v.text('limit')}“ gibt es nicht.`,
  refused_no_tokens: () => 'Die Anmeldung mit Token ist nicht eingerichtet; siehe HORAE_TOKENS.',
  refused_not_logged_in: () => 'Sie sind nicht angemeldet.',
  refused_not_logged_in_there: () =>
    'Melden Sie sich bei der Anwendung an: Sie kennt die Benutzer von Horae.',
  refused_queue_undeclared: (v) => `Kein Modul deklariert die Warteschlange „${v.text('queue')}“.`,
  refused_read_only: (v) => `„${v.text('actor')}“ darf nur lesen.`,
  refused_search_of_viewers: () =>
    'Wer nur lesen darf, kann nicht nach Parametern, Schlüsseln, Fehlern oder Texten ohne Feld suchen.',
  refused_to_others_than_staff: () => 'Das dürfen nur Betreiber.',
  refused_token_unknown: () => 'Dieses Token ist unbekannt.',
  refused_too_large: (v) =>
    `Die Anfrage ist größer als ${v.count('most')} Byte; siehe HORAE_MAX_BODY.`,
  refused_type_not_public: (v) =>
    `Der Jobtyp „${v.text('type')}“ ist nicht öffentlich und kann deshalb nicht über HTTP gestartet werden (öffentlich: ${v.text('public')}); deklarieren Sie ihn mit public=True, oder starten Sie ihn in Python oder mit \`horae jobs start ${v.text('type')}\`.`,
  refused_type_not_startable: (v) =>
    `Jobs vom Typ „${v.text('type')}“ können nicht über HTTP gestartet werden.`,
  stored_crashed: (v) =>
    `Der Knoten ${v.text('node')} hat mitten im Job aufgehört${v.has('crashes') ? `; nach ${v.text('crashes')} Abstürzen wird er nicht mehr versucht` : ''}.`,
  stored_dependency_failed: () => 'Ein Job, auf den dieser gewartet hat, wurde nicht fertig.',
  stored_died: () => 'Der Prozess, der diesen Job ausführte, endete unerwartet.',
  stored_failed: (v) => `Während dieser Job (${v.text('type')}) lief, ging etwas schief.`,
  stored_interrupted: () => 'Dieser Job wurde unterbrochen; bitte starten Sie ihn noch einmal.',
  stored_node_died: () => 'Er endete, ohne sich abzumelden; seine Jobs wurden übernommen.',
  stored_node_stopped: () => 'Der Knoten wurde angehalten, bevor der Job fertig war.',
  stored_not_set_up: () =>
    'Der Prozess, der diesen Job ausführen sollte, ließ sich nicht einrichten.',
  stored_out_of_contact: () =>
    'Der Knoten verlor die Verbindung zu seiner Datenbank und hielt den Job an, bevor andere ihn ausführen konnten.',
  stored_time_limit: (v) => TIME_LIMITS[v.text('limit')] ?? v.text('limit'),
  stored_unstorable: () => 'Was dieser Job zurückgab, lässt sich nicht speichern.',
  value_above: (v) => `Der Wert muss größer als ${v.text('bound')} sein.`,
  value_at_least: (v) => `Der Wert muss mindestens ${v.text('bound')} sein.`,
  value_at_most: (v) => `Der Wert darf höchstens ${v.text('bound')} sein.`,
  value_backfill_later: () => 'Das Ende liegt in der Zukunft; wählen Sie einen früheren Zeitpunkt.',
  value_backfill_needs_fixed: () =>
    'Ein Intervall, das ab dem Ende eines Laufs zählt, hat keine vergangenen Zeiten, die sich nachholen ließen; stellen Sie ein festes Raster ein.',
  value_backfill_reversed: () => 'Das Ende liegt nicht nach dem Anfang.',
  value_backfill_too_many: (v) =>
    `${plural(v.number('count'), 'Zeit ist', 'Zeiten sind')} zu viele, erlaubt sind höchstens ${v.count('most')}; wählen Sie einen kürzeren Bereich.`,
  value_below: (v) => `Der Wert muss kleiner als ${v.text('bound')} sein.`,
  value_between: (v) =>
    `Erwartet wird eine ganze Zahl von ${v.count('least')} bis ${v.count('most')}.`,
  value_burst_of_sliding: () =>
    'Ein gleitendes Fenster hat keinen Vorrat an Starts; lassen Sie eins von beiden weg.',
  value_calendar: (v) =>
    `Die Kalenderfunktion „${v.text('name')}“ ist unbekannt; bekannt sind: ${v.text('known')}.`,
  value_calendar_elsewhere: (v) =>
    `Die Tage, die ${v.text('name')} ausschließt, kennt nur diese Funktion, und dieser Prozess hat sie nicht.`,
  value_calendar_failed: (v) =>
    `Die Kalenderfunktion ${v.text('name')} schlug fehl: ${v.text('error')}`,
  value_cron_or_every: () =>
    'Ein Zeitplan braucht entweder einen Cron-Ausdruck (cron) oder ein Intervall (every).',
  value_exclude: (v) =>
    `„${v.text('text')}“: erwartet wird ein Datum wie 2026-12-24, ein Bereich wie 2026-12-24..2026-12-26, oder zwei Zeitpunkte mit Zeitzone und .. dazwischen.`,
  value_exclude_reversed: (v) => `Der Bereich „${v.text('text')}“ endet, bevor er beginnt.`,
  value_filter_missing: () =>
    'Ohne Filter beträfe dies alle Jobs; nennen Sie einen Filter, oder setzen Sie all.',
  value_id: (v) => `Erwartet werden 1 bis ${v.text('most')} Zeichen, darunter keine Steuerzeichen.`,
  value_interval: (v) =>
    `„${v.text('text')}“ lässt sich nicht als Dauer lesen; schreiben Sie etwa 30s, 10m, 1h30m, 2 days, 1 month oder PT90M.`,
  value_interval_mixed: () =>
    'Monate, Tage und Zeit lassen sich nicht mischen; verwenden Sie nur eines davon.',
  value_interval_too_long: (v) => `„${v.text('text')}“ ist länger als 100 Jahre.`,
  value_interval_zero: () => 'Die Dauer muss länger als null sein.',
  value_job_type: (v) => `Den Jobtyp „${v.text('type')}“ kennt dieser Server nicht.`,
  value_job_type_not_schedulable: (v) =>
    `Der Jobtyp „${v.text('type')}“ hält seine Parameter in einer Tabelle und kann deshalb keinen Zeitplan haben.`,
  value_kind_of_limit: (v) =>
    v.text('kind') === 'rate'
      ? `Das Limit „${v.text('limit')}“ ist eine Rate und kann keine Anzahl zugleich laufender Jobs werden.`
      : `Das Limit „${v.text('limit')}“ ist eine Anzahl zugleich laufender Jobs und kann keine Rate werden.`,
  value_length: (v) =>
    `Erwartet wird eine Dauer, die länger als null ist und höchstens ${v.count('days')} Tage.`,
  value_missing: () => 'Der Wert fehlt.',
  value_multiple: (v) => `Der Wert muss ein Vielfaches von ${v.text('bound')} sein.`,
  value_name: (v) =>
    `Erwartet werden 1 bis ${v.text('most')} druckbare Zeichen, nicht nur Leerzeichen.`,
  value_needs_fixed: (v) =>
    `Erwartet wird ${v.text('expected')}: Ein Intervall, das ab dem Ende eines Laufs zählt, hat keine Zeiten, die verstreichen könnten; oder stellen Sie ein festes Raster ein.`,
  value_no_next_run: () =>
    'Es gibt keinen nächsten Lauf: Die Zeiten des Zeitplans sind vorbei, oder alle sind ausgeschlossen.',
  value_not_boolean: () => 'Der Wert muss wahr oder falsch sein.',
  value_not_date: () => 'Der Wert muss ein Datum sein, etwa 2026-11-28.',
  value_not_duration: () => 'Der Wert muss eine Dauer sein, etwa PT90M.',
  value_not_in_form: (v) => `Der Wert muss zum Muster ${v.text('bound')} passen.`,
  value_not_integer: () => 'Der Wert muss eine ganze Zahl sein.',
  value_not_json: () => 'Der Wert muss gültiges JSON sein.',
  value_not_list: () => 'Der Wert muss eine Liste sein.',
  value_not_number: () => 'Der Wert muss eine Zahl sein.',
  value_not_object: () => 'Der Wert muss ein Objekt sein.',
  value_not_one_of: (v) => `Der Wert muss einer von diesen sein: ${v.text('bound')}.`,
  value_not_storable: () => 'Der Wert enthält ein Zeichen, das sich nicht speichern lässt.',
  value_not_text: () => 'Der Wert muss ein Text sein.',
  value_not_time: () => 'Der Wert muss Datum und Uhrzeit sein, etwa 2026-11-28T12:00:00Z.',
  value_not_url: () => 'Der Wert muss eine gültige URL sein.',
  value_not_uuid: () => 'Der Wert muss eine gültige UUID sein.',
  value_not_with: (v) => `${v.text('option')} ist mit ${v.text('other')} nicht möglich.`,
  value_only_of_rate: () =>
    'Vorrat und Fenster gehören zu einer Rate, nicht zu einer Anzahl zugleich laufender Jobs.',
  value_rate: () => 'Erwartet wird eine Anzahl Starts je Zeitraum, etwa 10/s, 100/m oder 5/30s.',
  value_rate_or_concurrency: () =>
    'Ein Limit hat entweder eine Rate oder eine Anzahl zugleich laufender Jobs; für beides deklarieren Sie zwei Limits.',
  value_rate_too_small: (v) =>
    `Erwartet wird mindestens 1 Start je Zeitraum von höchstens ${v.text('days')} Tagen; damit kein Job startet, halten Sie die Warteschlange an.`,
  value_run_at_or_delay: () => 'Nennen Sie die neue Zeit: entweder run_at oder delay.',
  value_too_long: (v) => `Der Wert darf höchstens ${v.text('bound')} Zeichen oder Elemente haben.`,
  value_too_short: (v) => `Der Wert braucht mindestens ${v.text('bound')} Zeichen oder Elemente.`,
  value_unknown: () => 'Dieser Name ist hier nicht bekannt.',
  value_while_disabled: () =>
    'Das ist bei einem angehaltenen Zeitplan ohne Wirkung; setzen Sie ihn zuerst fort.',
  value_while_running: () =>
    'Das ist nicht möglich, während ein Lauf ausgeführt wird: Sein Ende bestimmt die nächste Zeit.',
  value_year: (v) => `Erwartet wird ein Jahr von ${v.text('least')} bis ${v.text('most')}.`,
  value_zone: (v) =>
    `Die Zeitzone „${v.text('zone')}“ ist unbekannt; schreiben Sie etwa Europe/Berlin.`,
}

const TIME_LIMITS: Readonly<Record<string, string>> = {
  hard_time_limit: 'Dieser Job lief länger, als er darf, und wurde angehalten.',
  schedule_time_limit:
    'Dieser Lauf dauerte länger, als sein Zeitplan erlaubt, und wurde angehalten.',
  pending_timeout: 'Dieser Job wurde nicht rechtzeitig gestartet, weil kein Worker frei war.',
  expired: 'Dieser Job wurde nicht rechtzeitig gestartet und deshalb gar nicht ausgeführt.',
}

function meant(v: SentenceValues): string {
  return v.has('meant') ? `; meinten Sie „${v.text('meant')}“?` : ''
}
