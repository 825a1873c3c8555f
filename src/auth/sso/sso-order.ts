/** How somebody wants to sign in elsewhere. */
export interface SsoOrder {
  /** Name of the provider; not needed when there is one of the kind. */
  readonly provider?: string | undefined;
  /** Path on this site to go to afterwards. */
  readonly returnTo?: string | undefined;
  /** What the browser gets in the end; a ticket when it does not say. */
  readonly answer?: 'ticket' | 'cookie' | undefined;
  /** The session whose person shows once more who they are. The provider is told to ask, whoever is signed in there. */
  readonly stepUp?: string | undefined;
}

/** The beginning of it. */
export interface Redirect {
  readonly url: string;
  /** For the cookie of the browser. */
  readonly browser: string;
}
