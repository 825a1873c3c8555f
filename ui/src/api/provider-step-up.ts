import { stepUpAtProvider } from './generated/sdk.gen.js';

/** Session storage key: a step-up at the identity provider is pending. */
const PENDING = 'sealwright.step-up';

/** Redirects to the person's identity provider, and from there back to this page. */
export async function confirmAtProvider(): Promise<void> {
  const returnTo = `${location.pathname}${location.search}`;
  const { data } = await stepUpAtProvider({ body: { returnTo } });
  sessionStorage.setItem(PENDING, 'yes');
  location.assign(data.redirect);
}

/** Result of a step-up after the redirect back, returned once; `#error=` carries the error code. */
export function backFromProvider(): { readonly error?: string } | undefined {
  if (sessionStorage.getItem(PENDING) === null) return undefined;
  sessionStorage.removeItem(PENDING);
  const error = /^#error=([\w.-]+)$/.exec(location.hash)?.[1];
  if (error === undefined) return {};
  history.replaceState(history.state, '', `${location.pathname}${location.search}`);
  return { error };
}
