export const session = {
  /** `{}` stands for the name of the server's setting. */
  intro: 'Log in with an access token. The server’s setting {} defines them.',
  /** Where the application of which the page is a part identifies users. */
  elsewhere:
    'You are not logged in. Log in to the application that this dashboard is a part of, then return here.',
  token: 'Token',
  logIn: 'Log in',
  invalid: 'This token is not valid.',
  noTokens:
    'This server has no tokens to log in with: the application in front of it authenticates users.',
}
