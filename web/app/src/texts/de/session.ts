import type { Texts } from '../en'

export const session: Texts['session'] = {
  intro: 'Melden Sie sich mit einem Zugangstoken an. Die Einstellung {} des Servers legt sie fest.',
  elsewhere:
    'Sie sind nicht angemeldet. Melden Sie sich bei der Anwendung an, zu der diese Seite gehört, und kehren Sie dann zurück.',
  token: 'Token',
  logIn: 'Anmelden',
  invalid: 'Dieses Token ist nicht gültig.',
  noTokens:
    'Dieser Server hat keine Tokens für eine Anmeldung: Die Anwendung davor meldet die Benutzer an.',
}
