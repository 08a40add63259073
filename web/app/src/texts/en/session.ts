export const session = {
  /** `{}` stands for the name of the server's setting. */
  intro: 'Log in with an access token. The server’s setting {} defines them.',
  token: 'Token',
  logIn: 'Log in',
  invalid: 'This token is not valid.',
  noTokens:
    'This server has no tokens to log in with: the application in front of it authenticates users.',
}
