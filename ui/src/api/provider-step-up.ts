import { stepUpAtProvider } from './generated/sdk.gen.js';

/** That the browser was led to the identity provider to show who the person is, and comes back from there. */
const UNDER_WAY = 'sealwright.step-up';

/** Leads to the identity provider that the person came by, and from there back to this page. */
export async function confirmAtProvider(): Promise<void> {
  const returnTo = `${location.pathname}${location.search}`;
  const { data } = await stepUpAtProvider({ body: { returnTo } });
  sessionStorage.setItem(UNDER_WAY, 'yes');
  location.assign(data.redirect);
}

/** How it went for who comes back from there, once: with the code of the error in `#error=`, if any. */
export function backFromProvider(): { readonly error?: string } | undefined {
  if (sessionStorage.getItem(UNDER_WAY) === null) return undefined;
  sessionStorage.removeItem(UNDER_WAY);
  const error = /^#error=([\w.-]+)$/.exec(location.hash)?.[1];
  if (error === undefined) return {};
  history.replaceState(history.state, '', `${location.pathname}${location.search}`);
  return { error };
}
