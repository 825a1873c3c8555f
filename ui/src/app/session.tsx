import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useState } from 'react';
import { onSignedOut } from '../api/client.js';
import { logout, me, openSession } from '../api/generated/sdk.gen.js';
import type { CallerView, LoginBody } from '../api/generated/types.gen.js';

export type Scope = CallerView['scopes'][number];

interface Session {
  /** false until the service has answered whether a person is signed in. */
  readonly isKnown: boolean;
  /** undefined: nobody is signed in. */
  readonly caller: CallerView | undefined;
  /** Whether the person may do this. What they may not do is not shown. */
  readonly may: (scope: Scope) => boolean;
  readonly signIn: (credentials: LoginBody) => Promise<void>;
  readonly signOut: () => Promise<void>;
}

/** Marks browsers with a sign-in. Others do not ask the service for their session: each refusal would be an audit entry. */
const SIGNED_IN = 'sealwright.signed-in';
const wasSignedIn = (): boolean => localStorage.getItem(SIGNED_IN) !== null;
export const rememberSignIn = (): void => localStorage.setItem(SIGNED_IN, 'yes');

let asked: Promise<CallerView | undefined> | undefined;

/** Reads the session if this browser had one; called once, before the first render. Returns whether it asked. */
export function beginSession(): boolean {
  if (wasSignedIn()) {
    asked = me().then(
      ({ data }) => data,
      () => undefined,
    );
  }
  return asked !== undefined;
}

const Context = createContext<Session | undefined>(undefined);

/** The session is known to the service only: scripts cannot read the cookie. */
export function SessionProvider({ children }: { children: ReactNode }) {
  const [caller, setCaller] = useState<CallerView>();
  const [isKnown, setKnown] = useState(false);
  const queries = useQueryClient();

  const forget = useCallback(() => {
    localStorage.removeItem(SIGNED_IN);
    setCaller(undefined);
    queries.clear();
  }, [queries]);

  useEffect(() => onSignedOut(forget), [forget]);
  useEffect(() => {
    void (asked ?? Promise.resolve(undefined)).then((found) => {
      if (found === undefined) forget();
      else setCaller(found);
      setKnown(true);
    });
  }, [forget]);

  const session = useMemo<Session>(() => {
    const scopes = new Set<string>(caller?.scopes);
    return {
      isKnown,
      caller,
      may: (scope) =>
        scopes.has(scope) || scopes.has('admin:*') || (scope === 'inventory:report' && scopes.has('inventory:write')),
      signIn: async (credentials) => {
        const { data } = await openSession({ body: credentials });
        rememberSignIn();
        setCaller(data);
      },
      signOut: () => logout().then(forget, forget),
    };
  }, [caller, isKnown, forget]);

  return <Context value={session}>{children}</Context>;
}

export function useSession(): Session {
  const session = use(Context);
  if (session === undefined) throw new Error('outside of SessionProvider');
  return session;
}
