import { stepUpAtProvider } from './generated/sdk.gen.js';

/** Session storage key that marks a pending step-up at the identity provider. */
const PENDING = 'sealwright.step-up';

/** confirmAtProvider redirects to the person's identity provider, which redirects back to this page. */
export async function confirmAtProvider(): Promise<void> {
  const returnTo = `${location.pathname}${location.search}`;
  const { data } = await stepUpAtProvider({ body: { returnTo } });
  sessionStorage.setItem(PENDING, 'yes');
  location.assign(data.redirect);
}

/** takeStepUpResult returns the result of a step-up after the redirect back, once. `#error=` carries the error code. */
export function takeStepUpResult(): { readonly error?: string } | undefined {
  if (sessionStorage.getItem(PENDING) === null) return undefined;
  sessionStorage.removeItem(PENDING);
  const error = /^#error=([\w.-]+)$/.exec(location.hash)?.[1];
  if (error === undefined) return {};
  history.replaceState(history.state, '', `${location.pathname}${location.search}`);
  return { error };
}
