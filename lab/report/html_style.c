/*
 * html_style.c - the style sheet of a page
 *
 * Series have colours that are distinguishable with any colour vision (Okabe and Ito, "Color
 * Universal Design", 2008), and shapes, for print.
 */
#include "html.h"

const char lab_html_colours[] =
    ":root{--back:#fff;--text:#1c2024;--faint:#60646c;--line:#d9dce0;--stripe:#f6f7f9;"
    "--good:#0b6b3a;--bad:#b3261e;--warn:#7a5200;--note:#fff6e0;--edge:#e0a800;"
    "--s0:#0072b2;--s1:#d55e00;--s2:#009e73;--s3:#a2488a;--s4:#b58900;--s5:#3e9bd6;--s6:#6b4f2a;"
    "--s7:#5a5f66}\n"
    "@media (prefers-color-scheme:dark){:root{--back:#14171a;--text:#e6e8eb;--faint:#9aa1a9;"
    "--line:#3a3f45;--stripe:#1b1f23;--good:#5ccb8f;--bad:#ff8a80;--warn:#e6b450;--note:#2a2415;"
    "--edge:#8a6d1a;--s0:#5ab4f0;--s1:#ff9248;--s2:#35d0a0;--s3:#e79ac6;--s4:#e6c229;--s5:#9ad4ff;"
    "--s6:#c8a878;--s7:#aab0b8}}\n"
    /* Print is always in the light scheme. */
    "@media print{:root{--back:#fff;--text:#000;--faint:#444;--line:#bbb;--stripe:#fff;"
    "--good:#0b6b3a;--bad:#b3261e;--warn:#7a5200;--note:#fff;--edge:#888;--s0:#0072b2;--s1:#d55e00;"
    "--s2:#009e73;--s3:#a2488a;--s4:#b58900;--s5:#3e9bd6;--s6:#6b4f2a;--s7:#5a5f66}}\n";

const char lab_html_drawing[] =
    "svg text{fill:var(--text);font:11px system-ui,sans-serif}\n"
    "svg .m{font-family:ui-monospace,\"DejaVu Sans Mono\",Consolas,monospace}\n"
    "svg .t{font-weight:600;font-size:12px}\n"
    "svg .f{fill:var(--faint)}\n"
    "svg .g{stroke:var(--line);stroke-width:1}\n"
    "svg .a{stroke:var(--text);stroke-width:1.5}\n"
    "svg .p{stroke-width:1.5;stroke:var(--back)}\n"
    "svg .w{stroke-width:2;fill:none}\n"
    "svg .o{fill:var(--back);stroke:var(--text);stroke-width:1.3}\n"
    "svg .c0{fill:var(--s0)}svg .c1{fill:var(--s1)}svg .c2{fill:var(--s2)}svg .c3{fill:var(--s3)}"
    "svg .c4{fill:var(--s4)}svg .c5{fill:var(--s5)}svg .c6{fill:var(--s6)}svg .c7{fill:var(--s7)}\n"
    "svg .l0{stroke:var(--s0)}svg .l1{stroke:var(--s1)}svg .l2{stroke:var(--s2)}"
    "svg .l3{stroke:var(--s3)}svg .l4{stroke:var(--s4)}svg .l5{stroke:var(--s5)}"
    "svg .l6{stroke:var(--s6)}svg .l7{stroke:var(--s7)}\n";

const char lab_html_style[] =
    "*{box-sizing:border-box}\n"
    "html{background:var(--back);color:var(--text);font:15px/1.5 system-ui,sans-serif}\n"
    "body{margin:0}\n"
    "main{max-width:1480px;margin:0 auto;padding:24px 20px 60px}\n"
    "h1{font-size:1.7em;line-height:1.25;margin:0 0 .4em}\n"
    "h2{font-size:1.3em;margin:2em 0 .5em;padding-top:.5em;border-top:2px solid var(--line)}\n"
    "h3{font-size:1.05em;margin:1.7em 0 .4em}\n"
    "p,ul{max-width:80em;margin:.5em 0}\n"
    "ul{padding-left:1.3em}\n"
    ".note{background:var(--note);border-left:4px solid var(--edge);padding:.4em .8em}\n"
    ".wide{overflow-x:auto;margin:.8em 0}\n"
    "table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:3px 7px;text-align:left;border-bottom:1px solid var(--line)}\n"
    "td.r{white-space:nowrap}\n"
    "td.long{white-space:normal;min-width:12em;max-width:44em;overflow-wrap:anywhere}\n"
    "th{border-bottom:2px solid var(--faint);vertical-align:bottom}\n"
    "tr:nth-child(even) td{background:var(--stripe)}\n"
    "th.r,td.r{text-align:right}\n"
    "tbody+tbody tr:first-child td{border-top:2px solid var(--line)}\n"
    ".good{color:var(--good)}.bad{color:var(--bad);font-weight:600}.warn{color:var(--warn)}"
    ".faint{color:var(--faint)}.bold{font-weight:600}\n"
    "pre{overflow-x:auto;font:12px/1.4 ui-monospace,\"DejaVu Sans Mono\",Consolas,monospace;"
    "background:var(--stripe);padding:8px}\n"
    "figure{margin:1em 0;overflow-x:auto}\n"
    "figcaption{color:var(--faint);font-size:13px;max-width:80em}\n"
    "svg{display:block}\n" /* never scaled down: the text would become illegible */
    ".many{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(360px,100%),1fr));gap:"
    "10px 20px}\n"
    "@media screen and (max-width:1240px){table{font-size:12px}th,td{padding:3px 4px}}\n"
    /* On a narrow screen a table is a list of its rows, and each cell has a label with its column
     * head. */
    "@media screen and (max-width:1080px){main{padding:16px 12px 40px}"
    "table,tbody,tr,td{display:block}thead,td:empty{display:none}"
    "tr{padding:5px 0;border-bottom:1px solid var(--line)}"
    "tr td,tbody+tbody tr:first-child td,tr:nth-child(even) td{border:0;padding:1px 0;"
    "background:none}"
    "td,th.r{white-space:normal}td.r,th.r{text-align:left}td.long{min-width:0;max-width:none}"
    "td{overflow-wrap:anywhere}td:first-child{font-weight:600}"
    "td+td{display:inline-block;margin-right:14px}"
    "td+td[data-h]::before{content:attr(data-h) \": \";color:var(--faint)}"
    "tbody+tbody{border-top:2px solid var(--faint)}}\n"
    "@media screen and (max-width:1140px){main>figure::before{content:\"Wider than the screen: "
    "scroll to the right.\";color:var(--faint);font-size:13px}}\n"
    "@page{size:landscape;margin:10mm}\n"
    "@media "
    "print{.many{grid-template-columns:repeat(3,1fr)}html{font-size:10pt}main{max-width:none;"
    "padding:0}table{font-size:7pt}svg{max-width:100%;height:auto}"
    "th,td{padding:1px "
    "4px}.wide,figure{overflow:visible}pre{white-space:pre-wrap;font-size:7pt}tr,figure.one{break-"
    "inside:avoid}"
    "h2,h3{break-after:avoid}thead{display:table-header-group}"
    "td{white-space:normal}td.long{min-width:0;max-width:none}}\n";
