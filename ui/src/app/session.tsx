import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useState } from 'react';
import { onSignedOut } from '../api/client.js';
import { logout, me, openSession } from '../api/generated/sdk.gen.js';
import type { CallerView, LoginBody } from '../api/generated/types.gen.js';

export type Scope = CallerView['scopes'][number];

interface Session {
  /** False until the service has reported whether a person is signed in. */
  readonly isKnown: boolean;
  /** Undefined if no one is signed in. */
  readonly caller: CallerView | undefined;
  /** Reports whether the person has the scope. Actions without permission are not shown. */
  readonly may: (scope: Scope) => boolean;
  readonly signIn: (credentials: LoginBody) => Promise<void>;
  readonly signOut: () => Promise<void>;
}

/** Storage key that marks a browser with a previous sign-in. Other browsers do not read the session, because each 401 would add an audit entry. */
const SIGNED_IN = 'sealwright.signed-in';
const wasSignedIn = (): boolean => localStorage.getItem(SIGNED_IN) !== null;
export const rememberSignIn = (): void => localStorage.setItem(SIGNED_IN, 'yes');

let asked: Promise<CallerView | undefined> | undefined;

/** beginSession starts reading the session if this browser was signed in before, and returns whether it was. Called once, before the first render. */
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

/** SessionProvider provides the session, which comes from the service because scripts cannot read the cookie. */
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
  if (session === undefined) throw new Error('SessionProvider is missing above this component');
  return session;
}
