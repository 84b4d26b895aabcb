import "./styles/layers.css";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/controls.css";
import "./styles/dialogs.css";
import "./styles/layout.css";
import "./styles/states.css";
import "./styles/tables.css";
import "./styles/charts.css";
import { render } from "preact";
import { App } from "./App.tsx";
import { startTheme } from "./data/theme.ts";
import { startRouter } from "./router/address.ts";

startTheme();
startRouter();
const place = document.getElementById("app");
if (place !== null) render(<App />, place);
