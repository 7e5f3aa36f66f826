# SPDX-License-Identifier: GPL-2.0-or-later
#
# stage-colours.gp - the stages of requests and a colour for each: warm for the client's side, cold for the disk,
# green for servers, grey for what is not explained.

STAGES = "access redirect adapt lookup peer_select dns connect tls request_send client_body server_wait server_reply tunnel swap_in_open swap_in_first swap_in_rest reply_wait proxy_reply helper collapsed_wait held_back failed_tries unaccounted"
STAGE_COLOURS = "#cc79a7 #8c564b #7f7f7f #bcbd22 #9467bd #d62728 #004d40 #26a69a #b2dfdb #5d4037 #009e73 #7cb342 #2ca02c #003f7f #0072b2 #56b4e9 #ffd180 #e69f00 #f781bf #a65628 #ffff33 #999933 #cccccc"
