import { plural, rateText } from '@/format/number'
import type { SentenceTexts, SentenceValues } from '../sentenceTexts'
import { refusals } from './refusals'

export const sentences: SentenceTexts = {
  ...refusals,

  job_cancelled: (v) => `Er wurde${by(v)} abgebrochen.`,
  job_cancelled_stopping: (v) =>
    `Er wurde${by(v)} abgebrochen, und seine Funktion hat noch nicht angehalten.`,
  job_deleted: () => 'Er wurde gelöscht.',
  job_ended_stopping: (v) =>
    `Er ist ${state(v.text('state'))}, und seine Funktion hat noch nicht angehalten.`,
  job_expired: () => 'Er ist verfallen, und ein Knoten wird ihn gleich fehlschlagen lassen.',
  job_failed: (v) => (v.has('why') ? `Er schlug fehl: ${v.text('why')}` : 'Er schlug fehl.'),
  job_finished: () => 'Er ist fertig.',
  job_held_by_limit: (v) =>
    `Das Limit „${v.text('limit')}“ (${v.text('numbers')}) hält ihn zurück` +
    `${v.has('key') ? `, für den Schlüssel „${v.text('key')}“` : ''}, bis ${v.text('until')}.`,
  job_in_full_queue: (v) =>
    `Aus der Warteschlange „${v.text('queue')}“ ${v.number('limit') === 1 ? 'läuft 1 Job' : `laufen ${v.count('limit')} Jobs`} zugleich, mehr dürfen es nicht sein` +
    `${v.has('ahead') ? `, und ${ahead(v)}` : ''}.`,
  job_limits_elsewhere: (v) =>
    `Er kann nicht starten: Seine Limits gelten nur auf Knoten von Horae, und die Warteschlange „${v.text('queue')}“ hat das Backend „${v.text('backend')}“.`,
  job_needs_node: () => 'Er kann nicht starten: Kein Knoten führt Jobs aus.',
  job_needs_queue_served: () =>
    'Er kann nicht starten: Kein laufender Knoten, der seinen Typ kennt, bedient seine Warteschlange.',
  job_needs_type_known: () => 'Er kann nicht starten: Kein laufender Knoten kennt seinen Typ.',
  job_next: () => 'Ein Knoten mit einem freien Platz nimmt ihn als nächsten.',
  job_next_attempt: (v) => `Sein nächster Versuch ist fällig: ${v.moment('at')}.`,
  job_planned: (v) => `Er ist fällig: ${v.moment('at')}.`,
  job_queue_paused: (v) => `Die Warteschlange „${v.text('queue')}“ ist angehalten.`,
  job_runs: (v) => `Er läuft, bei ${progress(v)}.`,
  job_sent: (v) =>
    `Eine Nachricht darüber wurde vor ${v.length('seconds')} gesendet, und kein Worker, der seinen Typ kennt, hat ihn bisher übernommen.`,
  job_stopping: (v) =>
    `Er wird abgebrochen: Seine Funktion wurde bei ${progress(v)} aufgefordert anzuhalten.`,
  job_unfiled: () => 'Kein Knoten hat seine Limits bisher geprüft.',
  job_unsent: (v) =>
    `Noch wurde keine Nachricht darüber gesendet: Die Warteschlange „${v.text('queue')}“ hat das Backend „${v.text('backend')}“.`,
  job_waits_for_group: (v) =>
    `Er wartet, bis die Mitglieder der Gruppe ${v.text('group')} beendet sind` +
    `${v.has('creating') ? ', von denen noch weitere angelegt werden' : ''}.`,
  job_waits_for_jobs: (v) =>
    `Er wartet auf das Ende anderer Jobs${v.list('jobs').length > 0 ? `: ${v.list('jobs').join(', ')}` : ''}` +
    `${v.has('others') ? ' und weiterer' : ''}.`,
  job_waits_for_slot: (v) => {
    const turns = v.has('fair_by')
      ? `In der Warteschlange „${v.text('queue')}“ kommen alle nach ${v.text('fair_by')} reihum dran. `
      : ''
    const taken =
      v.number('slots') === 1
        ? 'der einzige Platz der Knoten, die ihn ausführen, ist belegt'
        : `alle ${v.count('slots')} Plätze der Knoten, die ihn ausführen, sind belegt`
    if (!v.has('ahead')) return `${turns}Er ist der nächste, aber ${taken}.`
    const first = ahead(v)
    const start = `${turns}${first.charAt(0).toUpperCase()}${first.slice(1)}`
    if (!v.has('free')) return `${start}, und ${taken}.`
    return `${start}, und ${plural(v.number('free'), 'Platz ist', 'Plätze sind')} frei.`
  },
  everything_paused: () => 'Alles ist angehalten.',
  reckoned_by_free_slot: () => 'ein Platz ist frei',
  reckoned_by_limit: () => 'nach der Rate des Limits',
  reckoned_by_pace: (v) =>
    `${v.has('at_least') ? 'mindestens; ' : ''}zuletzt endeten ${rateText(v.number('per_minute'))} solche Jobs in der Minute`,
  reckoned_by_plan: () => 'die geplante Zeit; später, wenn dann kein Platz frei ist',
  until_job_ends: () => 'ein laufender Job endet',
  until_jobs_end: (v) =>
    `laufende Jobs enden: Er braucht ${v.text('needed')} von ${v.text('allowed')}, und ${v.text('free')} ${v.number('free') === 1 ? 'ist' : 'sind'} frei`,
  until_moment: (v) => `mindestens ${v.moment('at')}`,

  clock_set_back: (v) =>
    `Die Uhr der Datenbank wurde zurückgestellt; ${
      v.has('intervals')
        ? 'Intervalle warten auf ihren nächsten Start'
        : 'Zeitpläne warten, weil über frühere Zeiten schon entschieden ist'
    }: ${v.list('named').join(', ')}${more(v)}.`,
  due_work: (v) =>
    `${plural(v.number('jobs'), 'fälliger Job wartet', 'fällige Jobs warten')} (Typ „${v.text('type')}“, Warteschlange „${v.text('queue')}“, am längsten ${v.length('seconds')})` +
    (v.has('awaited') ? `; auf ${v.count('awaited')} davon warten Gruppen oder andere Jobs` : ''),
  everything_paused_since: (v) =>
    `Alles ist angehalten seit ${v.moment('since')}${byWhom(v)}: Kein Job startet, und kein Zeitplan löst aus.`,
  hooks_left: (v) =>
    `Beendete Jobs vom Typ „${v.text('type')}“: ${[
      v.has('to_delete') ? `${v.count('to_delete')} warten darauf, gelöscht zu werden` : '',
      v.has('owed') ? `${v.count('owed')} warten auf einen Hook` : '',
    ]
      .filter(Boolean)
      .join(' und ')}, und kein lebender Knoten kennt den Typ.`,
  limit_late: (v) =>
    `Das Limit „${v.text('limit')}“ hält ${plural(v.number('jobs'), 'Job', 'Jobs')} lange zurück: Einer ist seit ${v.length('seconds')} fällig.`,
  many: (v) => `${v.list('first').join(' ')} Und ${v.count('more')} weitere.`,
  more_schedules_paused: (v) =>
    `${plural(v.number('count'), 'weiterer ist', 'weitere sind')} angehalten.`,
  node_dead: (v) => `${dead(v)}.`,
  node_dead_unrescued: (v) => `${dead(v)}, und kein lebender Knoten rettet sie.`,
  node_died: (v) =>
    `Der Knoten „${v.text('node')}“ (PID ${v.text('pid')} auf ${v.text('host')}) ist gestorben; ${v.text('fate')}.`,
  nodes_without_scheduler: (v) =>
    `${plural(v.number('schedules'), 'aktiver Zeitplan', 'aktive Zeitpläne')}, und kein lebender Knoten hat die Rolle „scheduler“: Keiner wird starten.`,
  nodes_without_worker: (v) =>
    `${plural(v.number('nodes'), 'Knoten lebt', 'Knoten leben')}, und keiner hat die Rolle „worker“: Kein Job läuft.`,
  nothing_claimed: (v) =>
    `${plural(v.number('jobs'), 'Job ist', 'Jobs sind')} in der Warteschlange „${v.text('queue')}“ fällig und ${plural(v.number('free'), 'Platz', 'Plätze')} dafür frei, aber seit ${v.length('seconds')} wurde nichts übernommen.`,
  queue_late: (v) =>
    `Die Warteschlange „${v.text('queue')}“ ist im Rückstand: Ein Job ist seit ${v.length('seconds')} fällig, und ${plural(v.number('jobs'), 'Job wartet', 'Jobs warten')} lange.`,
  queue_paused_since: (v) =>
    `Die Warteschlange „${v.text('queue')}“ ist angehalten seit ${v.moment('since')}${byWhom(v)}; ${plural(v.number('jobs'), 'Job wartet', 'Jobs warten')}.`,
  rows_unreadable: (v) =>
    `${plural(v.number('rows'), 'Zeile', 'Zeilen')} von ${v.text('table')} ${v.number('rows') === 1 ? 'ist' : 'sind'} nicht lesbar; Listen und Knoten übergehen sie.`,
  schedule_failing: (v) =>
    `„${v.text('schedule')}“ schlägt immer wieder fehl: ${plural(v.number('failures'), 'Fehlschlag', 'Fehlschläge')} hintereinander.`,
  schedule_gave_up: (v) =>
    `„${v.text('schedule')}“ ist abgeschaltet, weil alle Wiederholungen verbraucht sind: ${plural(v.number('failures'), 'Fehlschlag', 'Fehlschläge')} hintereinander.`,
  schedule_missed: (v) =>
    `„${v.text('schedule')}“ hat ${v.number('runs') === 1 ? 'einen Lauf' : `${v.count('runs')} Läufe`} verpasst, den ersten ${v.moment('at')} (${v.text('reason')}).`,
  schedule_overdue: (v) =>
    `„${v.text('schedule')}“ hätte vor ${v.length('seconds')} starten sollen und ist nicht gestartet${v.has('without_node') ? ': Kein Knoten löst Zeitpläne aus' : ''}.`,
  schedule_paused_since: (v) =>
    `„${v.text('schedule')}“ ist angehalten${v.has('since') ? ` seit ${v.moment('since')}` : ''}${byWhom(v)}.`,
  schedule_until: (v) => `„${v.text('schedule')}“ bis ${v.moment('at')}`,
  schedules_type_unknown: (v) =>
    `${plural(v.number('schedules'), 'Zeitplan', 'Zeitpläne')} für Jobs vom Typ „${v.text('type')}“, den kein lebender Knoten kennt${knownHere(v)}.`,
  schema_newer: (v) =>
    `Eine neuere Version hat die Datenbank migriert (Revision ${v.text('current')}; dieses Programm kennt ${v.text('known')})${v.has('compatible') ? ', und ihre Tabellen passen zu diesem Programm' : ''}.`,
  schema_old: (v) =>
    `Die Revision ${v.list('pending').join(', ')} steht noch aus${v.has('refused') ? ', deshalb starten Knoten nicht' : ''}.`,
  type_failing: (v) =>
    `${v.count('failed')} von ${plural(v.number('ended'), 'Job', 'Jobs')} vom Typ „${v.text('type')}“, die in der letzten Stunde endeten, schlugen fehl.`,
  waits_in_circle: (v) =>
    `${v.list('circle').join(' → ')}: Sie warten im Kreis aufeinander, und keiner wird je enden.`,
  waits_take_up_limit: (v) =>
    `Der Job ${v.text('job')} kann nicht starten: ${
      v.has('limit')
        ? `Das Limit „${v.text('limit')}“`
        : `Das Limit seiner Warteschlange, ${v.count('most')} zugleich,`
    } ist von Jobs belegt, die selbst warten (${v.list('jobs').join(', ')}${v.has('others') ? ' und weitere' : ''}).`,
  work_queue_unserved: (v) =>
    `${v.text('work')}: Kein lebender Knoten, der den Typ kennt, bedient diese Warteschlange.`,
  work_type_unknown: (v) =>
    `${v.text('work')}: Kein lebender Knoten kennt diesen Typ${knownHere(v)}.`,
  work_unsent: (v) =>
    `${v.text('work')}: Ein Backend führt sie aus, und kein Knoten hat ihm eine Nachricht gesendet.`,
  work_without_node: (v) => `${v.text('work')}, und kein Knoten läuft.`,
  work_without_worker: (v) =>
    `${v.text('work')}, und kein Knoten führt Jobs aus: Keiner hat die Rolle „worker“.`,
  fate_no_job: () => 'er hielt keinen Job',
  fate_of_jobs: (v) =>
    `er hielt ${plural(v.number('count'), 'Job', 'Jobs')}: ${v.list('parts').join(', ')}`,
  fate_part: (v) => `${v.count('count')} ${FATES[v.text('state')] ?? v.text('state')}`,
  death_by_lock: () => 'seine Sperre ist frei',
  death_by_lock_and_silence: (v) =>
    `seine Sperre ist frei, und er schweigt seit ${v.length('seconds')}`,
  death_by_process: () => 'sein Prozess ist weg',
  death_by_silence: (v) => `er schweigt seit ${v.length('seconds')}`,

  do_add_slots: () =>
    'Schaffen Sie Plätze: Starten Sie einen Knoten, oder erhöhen Sie --concurrency; oder sehen Sie nach, was sie belegt.',
  do_cancel_a_wait: () =>
    'Brechen Sie einen dieser Jobs ab; starten Sie dann, was wartet, nach den anderen: mit `after`, oder als Gruppe mit `then`.',
  do_check_broker: () =>
    'Starten Sie einen Knoten oder einen Celery-Worker der Anwendung, die dieses Backend nennt, und prüfen Sie deren Broker.',
  do_list_schedules: () => 'Sehen Sie die Zeitpläne an.',
  do_look_at_failures: (v) =>
    `Sehen Sie nach, was fehlschlägt: \`horae errors --type ${v.text('type')}\`.`,
  do_migrate: () => 'Führen Sie `horae migrate up` aus.',
  do_migrate_file: () =>
    'Nichts zu tun: Der nächste Start migriert eine SQLite-Datei. Um sie jetzt zu migrieren, führen Sie `horae migrate up` aus.',
  do_nothing_jobs_move: () =>
    'Nichts zu tun: Ein lebender Knoten übernimmt seine Jobs in Sekunden.',
  do_nothing_row_goes: () =>
    'Nichts zu tun: Der nächste Knoten, der startet, nimmt ihn aus der Liste.',
  do_raise_limit: () => 'Erhöhen Sie das Limit, wenn das, was es schützt, mehr verträgt.',
  do_read_last_lines: () =>
    'Suchen Sie seine letzten Protokollzeilen: Wurde er beendet, oder fehlte Speicher?',
  do_read_logs: () =>
    'Lesen Sie die Protokolle der Knoten: Sie können Zeitpläne nicht starten oder kommen nicht nach.',
  do_read_logs_of_queue: () =>
    'Lesen Sie die Protokolle der Knoten, die diese Warteschlange bedienen.',
  do_repair_rows: () =>
    '`horae doctor` nennt sie und den Grund. Reparieren oder löschen Sie sie mit SQL.',
  do_replace_program: () =>
    'Ersetzen Sie dieses Programm bei Gelegenheit durch die neuere Version.',
  do_resume_everything: () => 'Um fortzufahren, führen Sie `horae resume --all` aus.',
  do_resume_queue: (v) =>
    `Um fortzufahren, führen Sie \`horae queues resume ${v.text('queue')}\` aus.`,
  do_resume_schedule: (v) =>
    `Um fortzufahren, führen Sie \`horae schedules resume ${v.text('id')}\` aus.`,
  do_run_declaring_node: () =>
    'Starten Sie einen Knoten der Anwendung, die ihn deklariert, oder brechen Sie die Jobs ab, wenn es den Typ nicht mehr gibt.',
  do_run_or_clean: (v) =>
    `Starten Sie einen Knoten der Anwendung, die ihn deklariert; wenn es den Typ nicht mehr gibt, löscht \`horae jobs clean --unknown ${v.text('type')}\` sie.`,
  do_run_or_delete_schedules: () =>
    'Starten Sie einen Knoten der Anwendung, die ihn deklariert, oder löschen Sie die Zeitpläne, wenn es den Typ nicht mehr gibt.',
  do_run_schedule: (v) => `\`horae schedules run ${v.text('id')}\` startet jetzt einen Lauf.`,
  do_see_errors: (v) => `Siehe \`horae schedules errors ${v.text('id')}\`.`,
  do_see_errors_and_resume: (v) =>
    `Siehe \`horae schedules errors ${v.text('id')}\`; beheben Sie die Ursache, und führen Sie dann \`horae schedules resume ${v.text('id')}\` aus.`,
  do_serve_queue: (v) =>
    `Starten Sie einen Knoten mit --queues ${v.text('queue')}, oder ohne --queues.`,
  do_set_clock: () =>
    'Stellen Sie die Uhr richtig, oder warten Sie; `horae schedules run NAME` startet inzwischen einen Lauf.',
  do_start_node: () => 'Starten Sie einen: `horae run module:attribute`.',
  do_start_node_for_intervals: () =>
    'Ein Knoten holt ihre nächsten Starts in Sekunden heran: Starten Sie einen, `horae run module:attribute`.',
  do_start_scheduler: () => 'Starten Sie einen: `horae run module:attribute --roles scheduler`.',
  do_start_worker: () => 'Starten Sie einen: `horae run module:attribute --roles worker`.',
  do_upgrade_program: () => 'Aktualisieren Sie dieses Programm.',

  clocks_follow_wall: () =>
    'Er folgt der Wanduhr: nichts in einer ausgelassenen Stunde, und beide Male in einer doppelten.',
  clocks_in_gap_and_fold: (v) =>
    `Eine Zeit in einer ausgelassenen Stunde löst ${v.text('gap') === 'shift' ? 'im ersten Moment danach' : 'nicht'} aus, ` +
    `eine Zeit in einer doppelten ${{ first: 'beim ersten Mal', second: 'beim zweiten Mal' }[v.text('fold')] ?? 'beide Male'}.`,
  times_left_out: (v) =>
    `${wall(v)} ${v.list('wall').length === 1 && !v.has('more_wall') ? 'fällt' : 'fallen'} aus: ${runs(v)}`,
  times_twice: (v) =>
    `${wall(v)} ${v.list('wall').length === 1 && !v.has('more_wall') ? 'kommt' : 'kommen'} zweimal: ${runs(v)}`,

  cron_characters: (v) =>
    `er hat ${v.count('count')} Zeichen, erlaubt sind höchstens ${v.count('most')}`,
  cron_field: (v) =>
    `${FIELDS[v.text('field')] ?? v.text('field')} „${v.text('text')}“: ${v.text('problem')}; erlaubt: ${v.text('allowed')}${hint(v)}`,
  cron_fields: (v) => plural(v.number('count'), 'Feld', 'Felder'),
  cron_item: (v) => `„${v.text('item')}“ ist keins von *, */n, n, n-m, n/n, n-m/n`,
  cron_names: () => 'Namen werden nicht unterstützt',
  cron_never: (v) =>
    `„${v.text('text')}“ kann nie auslösen; erwartet wird ein Datum, das es von ${v.text('first')} bis ${v.text('last')} gibt`,
  cron_never_again: (v) =>
    `„${v.text('text')}“ kann nie wieder auslösen; nennen Sie ein künftiges Jahr, oder lassen Sie die Jahre weg`,
  cron_out_of_range: (v) =>
    `${v.has('number') ? v.text('number') : 'die Zahl'} liegt außerhalb des Bereichs`,
  cron_range_reversed: (v) => `der Bereich ${v.text('range')} endet, bevor er beginnt`,
  cron_step_too_long: (v) => `der Schritt ist länger als das Feld, das ${v.text('size')} Werte hat`,
  cron_step_zero: () => 'ein Schritt von 0 kommt nie voran',
  cron_whole: (v) =>
    `Cron-Ausdruck ${v.text('text')}: ${v.text('problem')}; erwartet werden 5 Felder (Minute Stunde Tag Monat Wochentag), 6 (Sekunde zuerst) oder 7 (Jahr zuletzt)${hint(v)}`,
  cron_words: () => 'Wörter mit @ werden nicht unterstützt',
  deployment_missing: (v) => `Das Deployment „${v.text('deployment')}“ gibt es nicht.`,
  group_missing: (v) => `Die Gruppe ${v.text('group')} gibt es nicht.`,
  group_not_cancellable: (v) =>
    `Die Gruppe ${v.text('group')} kann nicht abgebrochen werden: Alle ihre Jobs sind beendet.`,
  job_missing: (v) => `Den Job ${v.text('job')} gibt es nicht.`,
  job_not_cancellable: (v) =>
    `Der Job ${v.text('job')} kann nicht abgebrochen werden: Er ist ${state(v.text('state'))}.`,
  job_not_deletable: (v) =>
    ['pending', 'started'].includes(v.text('state'))
      ? `Der Job ${v.text('job')} kann nicht gelöscht werden, solange er ${state(v.text('state'))}; brechen Sie ihn ab, und warten Sie, bis er angehalten hat.`
      : v.text('state') === 'being deleted'
        ? `Der Job ${v.text('job')} wird gerade von anderer Seite gelöscht.`
        : `Der Job ${v.text('job')} kann noch nicht gelöscht werden: Seine Funktion hat nicht angehalten.`,
  job_not_reschedulable: (v) =>
    `Der Job ${v.text('job')} kann nicht verschoben werden, weil er nicht mehr wartet.`,
  job_not_retryable: (v) =>
    `Der Job ${v.text('job')} kann nicht wiederholt werden, weil er weder fehlgeschlagen noch abgebrochen ist.`,
  job_retried_already: (v) =>
    `Der Job ${v.text('job')} kann nicht wiederholt werden: Der Job ${v.text('repetition')} hat ihn wiederholt und wurde auch nicht fertig; wiederholen Sie diesen.`,
  max_job_count: (v) =>
    `„${v.text('owner')}“ hat schon ${plural(v.number('most'), 'wartenden oder laufenden Job', 'wartende oder laufende Jobs')} vom Typ „${v.text('type')}“, mehr erlaubt er nicht.`,
  schedule_changed: (v) =>
    `Der Zeitplan „${v.text('schedule')}“ wurde geändert, seit Sie ihn gelesen haben: Lesen Sie ihn neu, und entscheiden Sie dann.`,
  schedule_declared: (v) =>
    `Der Zeitplan „${v.text('schedule')}“ ist vom Modul „${v.text('module')}“ deklariert: Ändern Sie dessen Code, oder halten Sie den Zeitplan an.`,
  schedule_exists: (v) =>
    `einen Zeitplan „${v.text('schedule')}“ gibt es schon; ändern Sie ihn, oder wählen Sie einen anderen Namen`,
  schedule_missing: (v) => `Den Zeitplan „${v.text('schedule')}“ gibt es nicht.`,
  schedule_running: (v) =>
    `Der Zeitplan „${v.text('schedule')}“ läuft gerade, als Job ${v.text('job')}.`,
}

const STATES: Readonly<Record<string, string>> = {
  pending: 'wartet',
  started: 'läuft',
  finished: 'fertig',
  failed: 'fehlgeschlagen',
  cancelled: 'abgebrochen',
}
const FATES: Readonly<Record<string, string>> = {
  ...STATES,
  pending: 'laufen noch einmal',
  started: 'laufen wieder',
}
const FIELDS: Readonly<Record<string, string>> = {
  second: 'Sekunde',
  minute: 'Minute',
  hour: 'Stunde',
  'day of month': 'Tag',
  month: 'Monat',
  'day of week': 'Wochentag',
  year: 'Jahr',
}

function state(name: string): string {
  return STATES[name] ?? name
}

function by(v: SentenceValues): string {
  return v.has('by') ? ` von „${v.text('by')}“` : ''
}

function byWhom(v: SentenceValues): string {
  return `${v.has('by') ? ` von ${v.text('by')}` : ''}${v.has('note') ? ` (${v.text('note')})` : ''}`
}

function ahead(v: SentenceValues): string {
  const least = v.has('ahead_is_least') ? 'mindestens ' : ''
  return `${least}${plural(v.number('ahead'), 'Job kommt', 'Jobs kommen')} vor ihm`
}

function progress(v: SentenceValues): string {
  return `${v.number('percentage')}\u00a0%${v.has('label') ? `, „${v.text('label')}“` : ''}`
}

function more(v: SentenceValues): string {
  return v.has('more') ? ` und ${v.count('more')} weitere` : ''
}

function dead(v: SentenceValues): string {
  return `Der Knoten ${v.text('id')} (${v.text('node')}, PID ${v.text('pid')}) ist tot: ${v.text('cause')}; er hält ${plural(v.number('jobs'), 'Job', 'Jobs')}`
}

function knownHere(v: SentenceValues): string {
  return v.has('known_here') ? ', wohl aber diese Anwendung' : ''
}

function wall(v: SentenceValues): string {
  return `${v.list('wall').join(', ')}${v.has('more_wall') ? ` und ${v.count('more_wall')} weitere` : ''}`
}

function runs(v: SentenceValues): string {
  const known = v.list('runs')
  if (known.length === 0) return 'kein Lauf'
  const others = v.has('more_runs') ? ` und ${v.count('more_runs')} weitere` : ''
  return `${plural(known.length + v.number('more_runs'), 'Lauf', 'Läufe')}, um ${known.join(', ')}${others}`
}

function hint(v: SentenceValues): string {
  return v.has('instead') ? `; schreiben Sie ${v.text('instead')}` : ''
}
