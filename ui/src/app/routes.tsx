import { RouterProvider } from '@tanstack/react-router';
import { router } from './router.js';

// Load the requested page before the first render.
void router.load();

export function Routes() {
  return <RouterProvider router={router} />;
}
