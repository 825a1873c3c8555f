import '@patternfly/react-core/dist/styles/base.css';
import './theme/colors.css';
import './theme/kit.css';
import './theme/sealwright.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { createRoot } from 'react-dom/client';
import { configureClient } from './api/client.js';
import { App, loadRoutes } from './app/app.js';
import { queries } from './app/queries.js';
import { beginSession, SessionProvider } from './app/session.js';
import { I18nProvider } from './i18n/i18n.js';
import { installColorScheme } from './theme/color-scheme.js';
import { installTrustedTypes } from './trusted-types.js';

installTrustedTypes();
installColorScheme();
configureClient();

// Load the rest of the console and the first list of the page while the session is read.
if (beginSession()) void loadRoutes();

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no #root element');
createRoot(root).render(
  <I18nProvider>
    <QueryClientProvider client={queries}>
      <SessionProvider>
        <App />
      </SessionProvider>
    </QueryClientProvider>
  </I18nProvider>,
);
