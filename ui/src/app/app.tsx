import { lazy, Suspense } from 'react';
import { Busy } from '../patterns/busy.js';
import { useSession } from './session.js';

const SignInPage = lazy(() =>
  import('../pages/sign-in/sign-in.page.js').then((module) => ({ default: module.SignInPage })),
);
export const loadRoutes = () => import('./routes.js');
const Routes = lazy(() => loadRoutes().then((module) => ({ default: module.Routes })));

/** App shows the sign-in page at every URL until a person has signed in. The router, the shell and the requested page are loaded only then. */
export function App() {
  const { caller, isKnown } = useSession();
  if (!isKnown) return <Busy />;
  return <Suspense fallback={<Busy />}>{caller === undefined ? <SignInPage /> : <Routes />}</Suspense>;
}
